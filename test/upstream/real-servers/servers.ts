/** HTTP servers that others wrote, each as a process of its own, with or without TLS. */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { freePort } from '../../support/free-port.ts';
import { provideProgram } from '../../support/provide-program.ts';
import { providePythonPackage } from '../../support/python-package.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** How long each keeps a connection that nobody uses, where it can be told so exactly. */
export const IDLE_MS = 50;
/** A server in front of another keeps a connection for as many requests. */
const REQUESTS_PER_CONNECTION = 97;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const certificate = (name: string) => here(`../certificates/server-${name}.pem`);
const TLS = [certificate('cert'), certificate('key')];

export const ENCODED_TEXT = 'what was encoded '.repeat(100);

/** The bodies that servers send as they are, by the encoding's name. */
export function writeEncodedBodies(): string {
  const folder = temporaryFolder();
  const bytes = Buffer.from(ENCODED_TEXT);
  writeFileSync(join(folder, 'gzip'), Bun.gzipSync(bytes));
  writeFileSync(join(folder, 'br'), brotliCompressSync(bytes));
  writeFileSync(join(folder, 'zstd'), Bun.zstdCompressSync(bytes));
  return folder;
}

export type Served = { port: number; stop(): Promise<void> };
export type Serve = (secure: boolean) => Promise<Served>;
/** A server, or why it cannot be tried here. */
export type Server = { serve: Serve } | { missing: string };

async function run(command: readonly string[], port: number, env: Record<string, string> = {}): Promise<Served> {
  const child = Bun.spawn([...command], { env: { ...process.env, ...env }, stdout: 'ignore', stderr: 'ignore' });
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** A server that takes the arguments of server.mjs. */
const ownServer =
  (command: readonly string[], bodies: string, idleMs = IDLE_MS): Serve =>
  async (secure) => {
    const port = await freePort();
    return run([...command, String(port), bodies, String(idleMs), ...(secure ? TLS : [])], port);
  };

export async function nodeServer(bodies: string, idleMs?: number): Promise<Server> {
  const node = await provideProgram('node', 'nodejs');
  return 'missing' in node ? node : { serve: ownServer([node.path, here('server.mjs')], bodies, idleMs) };
}

export async function goServer(bodies: string): Promise<Server> {
  const go = await provideProgram('go', 'golang-go');
  if ('missing' in go) return go;
  const program = join(temporaryFolder(), 'server');
  const built = Bun.spawnSync([go.path, 'build', '-o', program, here('server.go')], { env: process.env });
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return { serve: ownServer([program], bodies) };
}

export async function uvicornServer(bodies: string): Promise<Server> {
  const python = await providePythonPackage('uvicorn==0.54.0');
  if ('missing' in python) return python;
  return {
    async serve(secure) {
      const port = await freePort();
      const keys = secure ? ['--ssl-certfile', TLS[0] ?? '', '--ssl-keyfile', TLS[1] ?? ''] : [];
      const address = ['--host', '127.0.0.1', '--port', String(port)];
      const options = ['--timeout-keep-alive', '1', '--log-level', 'critical', '--app-dir', here('.'), ...keys];
      const env = { PYTHONPATH: python.packages, BODIES: bodies };
      return run([python.program, '-m', 'uvicorn', 'app:app', ...address, ...options], port, env);
    },
  };
}

/** A server before `origin`, by its configuration and the command that reads it. */
const frontServer =
  (write: (front: { port: number; secure: boolean; folder: string }) => { text: string; command: string[] }): Serve =>
  async (secure) => {
    const port = await freePort();
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'temp'));
    const { text, command } = write({ port, secure, folder });
    writeFileSync(join(folder, 'configuration'), text);
    return run(command, port, { HOME: folder, XDG_CONFIG_HOME: folder });
  };

export async function nginxServer(origin: number): Promise<Server> {
  const nginx = await provideProgram('nginx', 'nginx-light');
  if ('missing' in nginx) return nginx;
  return {
    serve: frontServer(({ port, secure, folder }) => ({
      command: [nginx.path, '-p', folder, '-c', join(folder, 'configuration'), '-e', 'stderr'],
      text: `daemon off; pid ${folder}/pid; worker_processes 1; error_log stderr crit;
        events { worker_connections 1024; }
        http {
          access_log off;
          ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp/${name};`).join('\n')}
          keepalive_timeout ${IDLE_MS}ms; keepalive_requests ${REQUESTS_PER_CONNECTION}; gzip on; gzip_proxied any; gzip_types *;
          upstream origin { server 127.0.0.1:${origin}; keepalive 64; }
          server {
            listen 127.0.0.1:${port}${secure ? ' ssl' : ''};
            ${secure ? `ssl_certificate ${TLS[0]}; ssl_certificate_key ${TLS[1]};` : ''}
            location / {
              proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_next_upstream off;
            }
            location = /plain { default_type text/plain; return 200 plain; }
            location = /nothing { return 204; }
          }
        }`,
    })),
  };
}

export async function caddyServer(origin: number): Promise<Server> {
  const caddy = await provideProgram('caddy');
  if ('missing' in caddy) return caddy;
  return {
    serve: frontServer(({ port, secure, folder }) => ({
      command: [caddy.path, 'run', '--adapter', 'caddyfile', '--config', join(folder, 'configuration')],
      text: `{
          admin off
          auto_https off
          servers {
            timeouts {
              idle ${IDLE_MS}ms
            }
          }
        }
        ${secure ? 'https' : 'http'}://localhost:${port} {
          bind 127.0.0.1
          ${secure ? `tls ${TLS.join(' ')}` : ''}
          encode zstd gzip
          respond /plain plain
          reverse_proxy 127.0.0.1:${origin}
        }`,
    })),
  };
}

export async function apacheServer(origin: number): Promise<Server> {
  const apache = await provideProgram('apache2', 'apache2-bin');
  if ('missing' in apache) return apache;
  const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'filter', 'deflate', 'env', 'setenvif', 'ssl'];
  return {
    serve: frontServer(({ port, secure, folder }) => {
      chownSync(folder, 33, 33);
      return {
        command: [apache.path, '-D', 'FOREGROUND', '-f', join(folder, 'configuration')],
        text: `ServerRoot ${folder}
          ServerName localhost
          DefaultRuntimeDir ${folder}
          PidFile ${folder}/pid
          ErrorLog /dev/null
          Listen 127.0.0.1:${port}
          ${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
          ${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
          KeepAliveTimeout ${IDLE_MS}ms
          MaxKeepAliveRequests ${REQUESTS_PER_CONNECTION}
          ${secure ? `SSLEngine on\nSSLCertificateFile ${TLS[0]}\nSSLCertificateKeyFile ${TLS[1]}` : ''}
          SetEnvIf Request_URI "^/downgraded" downgrade-1.0 force-response-1.0
          SetEnvIf Request_URI "^/deflated" force-gzip
          <Location /deflated>
            SetOutputFilter DEFLATE
          </Location>
          ProxyPass /downgraded http://127.0.0.1:${origin}/plain
          ProxyPass /deflated http://127.0.0.1:${origin}/chunked
          ProxyPass / http://127.0.0.1:${origin}/
          SetEnv proxy-nokeepalive 0`,
      };
    }),
  };
}
