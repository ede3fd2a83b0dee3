/**
 * Parts of the library that its own types leave out. Its entry also loads another cryptographic
 * library, which nothing here needs and which would add a megabyte to the executable.
 */
declare module 'acme-client/src/client.js' {
  import { Client } from 'acme-client';

  export default Client;
}
declare module 'acme-client/src/crypto/index.js' {
  import { crypto } from 'acme-client';

  const parts: typeof crypto;
  export default parts;
}
declare module 'acme-client/src/axios.js' {
  import { axios } from 'acme-client';

  const instance: typeof axios;
  export default instance;
}
