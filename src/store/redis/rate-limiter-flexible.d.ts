/**
 * The limiter's own file: the package's entry loads the drivers of ten other databases. Its types
 * are those of the package.
 */
declare module 'rate-limiter-flexible/lib/RateLimiterRedis.js' {
  import { RateLimiterRedis } from 'rate-limiter-flexible';
  export default RateLimiterRedis;
}
