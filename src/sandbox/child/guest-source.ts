/**
 * Evaluated in every guest before its plugin, while all built-ins are still the engine's own. It
 * captures everything that it needs later, because a plugin may replace any built-in afterwards.
 * For the same reason nothing below iterates, calls a method of a prototype or stringifies an
 * object of its own: each of these would run what the plugin put there.
 *
 * The function installs `utils`, `console`, `Date` and `Math.random`, and returns the functions
 * that the host calls. Their answers are strings, or the object that a hook returned: the host
 * reads its JSON itself, or asks `finish` for it. The first letter is the outcome, so no property
 * that a plugin defines decides how an answer is read:
 *
 * - `v` + JSON: a value; `u`: undefined
 * - `t` or `i` + `["message","stack"]`: thrown by the plugin (`t`) or by the engine (`i`)
 * - `n`, `a`, `c`, `l` + message: not callable, asynchronous, not JSON, too large
 */
export const guestSource = `(host) => {
'use strict';
const { parse, stringify } = JSON;
const { apply, construct, ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
const { isArray } = Array;
const { slice, charCodeAt } = String.prototype;
const plainPrototype = Object.prototype;
const { floor } = Math;
const ErrorOf = Error, StringOf = String, DateOf = Date;
const internalError = InternalError.prototype;
const functions = getPrototypeOf(function () {});
const asyncFunctions = getPrototypeOf(async function () {});
const generators = getPrototypeOf(function* () {});
const asyncGenerators = getPrototypeOf(async function* () {});

const maxHostCall = 16777216;
const ask = (name, json) => {
  if (json.length > maxHostCall) throw new ErrorOf(name + ': its arguments are over the limit of ' + maxHostCall + ' bytes');
  const answer = host(name, json);
  if (answer[0] === 'e') throw new ErrorOf(apply(slice, answer, [1]));
  return parse(apply(slice, answer, [1]));
};

// Time and random numbers come from the host when they are first needed, so that the host knows of
// every call whose result may differ from the last one.
let seeded = false, s0 = 1, s1 = 2, s2 = 3, s3 = 4;
const random32 = () => {
  if (!seeded) {
    const seed = ask('seed', '[]');
    s0 = seed[0]; s1 = seed[1]; s2 = seed[2]; s3 = seed[3];
    seeded = true;
  }
  const t = (((s0 + s1) | 0) + s3) | 0;
  s3 = (s3 + 1) | 0;
  s0 = s1 ^ (s1 >>> 9);
  s1 = (s2 + (s2 << 3)) | 0;
  s2 = (((s2 << 21) | (s2 >>> 11)) + t) | 0;
  return t >>> 0;
};
Math.random = { random: () => (random32() * 2097152 + (random32() >>> 11)) / 9007199254740992 }.random;

// The engine's clock only measures the time since the first look at the host's.
const { now: engineNow } = DateOf;
let started = false, frozen = false, baseMs = 0;
const clock = () => {
  if (!started) {
    const given = ask('clock', '[]');
    frozen = given[1];
    baseMs = frozen ? given[0] : given[0] - engineNow();
    started = true;
  }
  return frozen ? baseMs : baseMs + engineNow();
};
function HostDate(...parts) {
  if (new.target === undefined) return apply(dateToString, new DateOf(clock()), []);
  return construct(DateOf, parts.length === 0 ? [clock()] : parts, new.target);
}
const dateToString = DateOf.prototype.toString;
Object.defineProperties(HostDate, {
  name: { value: 'Date' },
  length: { value: 7 },
  prototype: { value: DateOf.prototype, writable: false },
  now: { value: { now: () => clock() }.now, writable: true, configurable: true },
  parse: { value: DateOf.parse, writable: true, configurable: true },
  UTC: { value: DateOf.UTC, writable: true, configurable: true },
});
DateOf.prototype.constructor = HostDate;
globalThis.Date = HostDate;

const text = (value) => stringify(StringOf(value));
// Bytes go to the host as {"hex": …} and come back as a list of numbers. Their length is known
// before they are read.
const digits = '0123456789abcdef';
const hexDigits = [];
for (let i = 0; i < 256; i++) hexDigits[i] = digits[i >> 4] + digits[i & 15];
const BytesOf = Uint8Array;
const typedArray = getPrototypeOf(BytesOf.prototype);
const readTag = getOwnPropertyDescriptor(typedArray, Symbol.toStringTag).get;
const readLength = getOwnPropertyDescriptor(typedArray, 'length').get;
const maxBytes = 1048576;
const isBytes = (value) => apply(readTag, value, []) === 'Uint8Array';
const hexText = (name, value, length) => {
  if (length > maxBytes) throw new ErrorOf(name + ': the bytes are over the limit of ' + maxBytes);
  let hex = '';
  for (let i = 0; i < length; i++) {
    const byte = value[i];
    if (typeof byte !== 'number' || byte < 0 || byte > 255 || byte !== floor(byte)) throw new ErrorOf(name + ': bytes are whole numbers from 0 to 255');
    hex += hexDigits[byte];
  }
  return '{"hex":"' + hex + '"}';
};
const data = (name, value, part) => {
  if (typeof value === 'string') return stringify(value);
  if (isBytes(value)) return hexText(name, value, apply(readLength, value, []));
  if (isArray(value)) return hexText(name, value, value.length);
  const found = part === undefined ? '' : ' as ' + part + ', not ' + (value === null ? 'null' : typeof value);
  throw new ErrorOf(name + ': give a string or bytes' + found);
};
const textOrBytes = (name, value) => (isBytes(value) ? data(name, value) : text(value));
const answered = (value) => {
  if (!isArray(value)) return value;
  const bytes = construct(BytesOf, [value.length]);
  for (let i = 0; i < value.length; i++) bytes[i] = value[i];
  return bytes;
};
// Plain JSON alone: no getters, holes, dates or functions, and no cycles, which are too deep.
const maxNodes = 32768;
const checkPlain = (value, depth, seen) => {
  if (++seen.nodes > maxNodes) throw new ErrorOf('json.clone: more than ' + maxNodes + ' values');
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'number' && value - value === 0) return;
  if (typeof value !== 'object') throw new ErrorOf('json.clone: only plain JSON can be copied');
  if (depth >= 32) throw new ErrorOf('json.clone: more than 32 levels');
  const proto = getPrototypeOf(value);
  const list = isArray(value);
  if (!list && proto !== plainPrototype && proto !== null) throw new ErrorOf('json.clone: only plain JSON can be copied');
  const names = ownKeys(value);
  if (list && names.length !== value.length + 1) throw new ErrorOf('json.clone: a list has holes or names');
  for (let i = 0; i < names.length; i++) {
    if (list && names[i] === 'length') continue;
    const member = typeof names[i] === 'string' ? getOwnPropertyDescriptor(value, names[i]) : undefined;
    if (member === undefined || !('value' in member)) throw new ErrorOf('json.clone: only plain JSON can be copied');
    checkPlain(member.value, depth + 1, seen);
  }
};
const cloneJson = (value) => {
  checkPlain(value, 0, { nodes: 0 });
  const text = stringify(value);
  let bytes = text.length;
  for (let i = 0; i < text.length && bytes <= maxBytes; i++) {
    const code = apply(charCodeAt, text, [i]);
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  if (bytes > maxBytes) throw new ErrorOf('json.clone: more than 1 MiB');
  return parse(text);
};
const signer = (name) => ({ [name]: (request) => ask(name, '[' + (stringify(request) ?? 'null') + ']') })[name];
const digest = (name) => ({ [name]: (value, encoding = 'hex') => answered(ask(name, '[' + data(name, value) + ',' + text(encoding) + ']')) })[name];
globalThis.utils = {
  hasCapability: (name) => name === 'json-clone@1' || name === 'json-order@1' || name === 'duration-auto@1' || name === 'submit-sse-delta@1',
  json: { clone: cloneJson },
  unixNow: () => floor(clock() / 1000),
  uuid: () => ask('uuid', '[]'),
  hmacSHA256: (message, secret) => ask('hmacSHA256', '[' + text(message) + ',' + text(secret) + ']'),
  jwtSignHS256: (claims, secret) => ask('jwtSignHS256', '[' + (stringify(claims) ?? 'null') + ',' + text(secret) + ']'),
  base64: (value) => ask('base64', '[' + textOrBytes('base64', value) + ']'),
  base64URL: (value) => ask('base64URL', '[' + textOrBytes('base64URL', value) + ']'),
  base64URLDecode: (value) => ask('base64URLDecode', '[' + text(value) + ']'),
  volcSignV4: signer('volcSignV4'),
  sha256: digest('sha256'),
  sha1: digest('sha1'),
  md5: digest('md5'),
  hmac: (how, key, message) => {
    const { algorithm = how, encoding = 'hex' } = typeof how === 'object' && how !== null ? how : {};
    return answered(ask('hmac', '[' + text(algorithm) + ',' + text(encoding) + ',' + data('hmac', key, 'key') + ',' + data('hmac', message, 'message') + ']'));
  },
  bytes: (value, encoding = 'utf8') => answered(ask('bytes', '[' + text(value) + ',' + text(encoding) + ']')),
  urlEncodeRFC3986: (value) => ask('urlEncodeRFC3986', '[' + text(value) + ']'),
  awsSignV4: signer('awsSignV4'),
  tencentSignTC3: signer('tencentSignTC3'),
  aliyunSignV3: signer('aliyunSignV3'),
  aliyunSignRPC: signer('aliyunSignRPC'),
};

let consoleLeft = 0;
const logged = (value) => {
  if (typeof value === 'object' && value !== null) {
    if (getPrototypeOf(value) === null || !('stack' in value)) return stringify(value) ?? '';
  }
  return StringOf(value);
};
globalThis.console = {
  log(...values) {
    if (consoleLeft < 0) return;
    let line = '';
    for (let i = 0; i < values.length && line.length <= consoleLeft; i++) {
      let word;
      try { word = logged(values[i]); } catch { word = '[unprintable]'; }
      line += (i === 0 ? '' : ' ') + apply(slice, word, [0, consoleLeft + 1]);
    }
    consoleLeft -= line.length + 1;
    host('console', stringify(line));
  },
};
const prepare = (call) => {
  seeded = started = false;
  consoleLeft = call.consoleBytes;
};

const describe = (thrown) => {
  let message, stack, letter = 't';
  try {
    if ((typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function') {
      message = thrown.message;
      stack = thrown.stack;
      if (getPrototypeOf(thrown) === internalError) letter = 'i';
    }
  } catch {}
  if (typeof message !== 'string') {
    try { message = StringOf(thrown); } catch { message = ''; }
  }
  if (typeof stack !== 'string') stack = '';
  return letter + '[' + stringify(apply(slice, message, [0, 2048])) + ',' + stringify(apply(slice, stack, [0, 2048])) + ']';
};

const toTypeName = (value) => {
  if (typeof value === 'function') {
    const proto = getPrototypeOf(value);
    if (proto === asyncFunctions) return 'async_function';
    if (proto === generators || proto === asyncGenerators) return 'generator';
    const prototype = getOwnPropertyDescriptor(value, 'prototype');
    return prototype !== undefined && prototype.writable === false ? 'class' : 'function';
  }
  if (typeof value !== 'object' || value === null) return 'other';
  return isArray(value) ? 'array' : 'object';
};
const isThenable = (value) =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') && typeof value.then === 'function';

// The contract gives a plugin its artifacts, and the values of a form's fields, to read only.
const { freeze } = Object;
const ownMember = (value, name) => {
  if (typeof value !== 'object' || value === null) return undefined;
  const member = getOwnPropertyDescriptor(value, name);
  return member === undefined ? undefined : member.value;
};
const freezeMembers = (value) => {
  if (typeof value !== 'object' || value === null) return;
  const names = ownKeys(value);
  for (let i = 0; i < names.length; i++) freeze(value[names[i]]);
};
const protect = (context) => {
  const artifacts = ownMember(context, 'artifacts');
  freezeMembers(artifacts);
  freeze(artifacts);
  freezeMembers(ownMember(ownMember(context, 'body'), 'fields'));
};

// What a call works on, kept so that the engine need not free it piece by piece: the host resets
// all memory at once.
let keptCall, keptValue, keptName;
const finish = () => {
  let result;
  try {
    result = stringify(keptValue);
  } catch (thrown) {
    const reason = describe(thrown);
    return reason[0] === 'i' ? reason : 'c' + keptName + ' returned a value that is not JSON: ' + parse(apply(slice, reason, [1]))[0];
  }
  if (result === undefined) return 'c' + keptName + ' returned a ' + typeof keptValue + ', which is not JSON';
  if (result.length > keptCall.maxResultBytes) return 'l' + keptName;
  return 'v' + result;
};
let namespace, shapesLeft = 2000, thenable = '';
const shape = (value, name, depth) => {
  shapesLeft--;
  const type = toTypeName(value);
  if (isThenable(value)) thenable = name;
  let members = '';
  if (type === 'object' && depth > 0) {
    const keys = ownKeys(value);
    for (let i = 0; i < keys.length && shapesLeft > 0; i++) {
      if (typeof keys[i] !== 'string') continue;
      members += (members === '' ? '' : ',') + stringify(keys[i]) + ':' + shape(value[keys[i]], name + '.' + keys[i], depth - 1);
    }
    members = ',"members":{' + members + '}';
  }
  return '{"type":"' + type + '"' + members + '}';
};

return {
  describe,
  prepare(request) {
    prepare(parse(request));
  },
  bind(module) {
    namespace = module;
  },
  inspect() {
    try {
      let exports = '';
      const names = ownKeys(namespace);
      for (let i = 0; i < names.length; i++) {
        if (typeof names[i] !== 'string') continue;
        exports += (exports === '' ? '' : ',') + stringify(names[i]) + ':' + shape(namespace[names[i]], names[i], 3);
      }
      if (thenable !== '') return 'athe export ' + thenable + ' is a promise; plugins are synchronous';
      let data = '';
      const texts = ['meta', 'vendorInfo'];
      for (let i = 0; i < texts.length; i++) {
        const text = getOwnPropertyDescriptor(namespace, texts[i]) === undefined ? undefined : stringify(namespace[texts[i]]);
        if (text !== undefined) data += ',"' + texts[i] + '":' + text;
      }
      return 'v{"exports":{' + exports + '}' + data + '}';
    } catch (thrown) {
      return describe(thrown);
    }
  },
  dispatch(request) {
    try {
      const call = keptCall = typeof request === 'string' ? parse(request) : request;
      prepare(call);
      const path = call.path;
      let owner, target = namespace, name = '';
      for (let i = 0; i < path.length; i++) {
        name += (i === 0 ? '' : '.') + path[i];
        const found = (typeof target === 'object' && target !== null) || typeof target === 'function';
        if (!found || getOwnPropertyDescriptor(target, path[i]) === undefined) return 'nthe plugin exports no ' + name;
        owner = i === 0 ? undefined : target;
        target = target[path[i]];
      }
      const type = toTypeName(target);
      if (type === 'async_function' || type === 'generator') return 'a' + name + ' is asynchronous or a generator; hooks are synchronous';
      if (type !== 'function') return 'n' + name + ' is not a function';
      protect(call.args[0]);
      const value = keptValue = apply(target, owner, call.args);
      if (value === undefined) return 'u';
      if (isThenable(value)) return 'a' + name + ' returned a promise; hooks are synchronous';
      keptName = name;
      return typeof value === 'object' && value !== null ? value : finish();
    } catch (thrown) {
      return describe(thrown);
    }
  },
  finish() {
    try {
      return finish();
    } catch (thrown) {
      return describe(thrown);
    }
  },
  objectPrototype: Object.prototype,
  arrayPrototype: Array.prototype,
};
}`;
