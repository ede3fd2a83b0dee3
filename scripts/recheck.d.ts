/**
 * recheck in plain JavaScript: the package's main entry starts Java or a native program where it
 * finds one.
 */
declare module 'recheck/lib/browser.js' {
  export { checkSync } from 'recheck';
}
