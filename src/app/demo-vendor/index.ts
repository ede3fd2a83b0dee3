/**
 * Owns: the vendor of the demo and of tests: an asynchronous video API with jobs in memory.
 * May touch: a listening socket. Never touches: the gateway; it knows no task, user or database.
 */

export { createDemoVendor, DEMO_VENDOR_PORT, type DemoVendor, type DemoVendorOptions } from './create-demo-vendor.ts';
export { createStrictVendor, STRICT_VENDOR_KEY } from './create-strict-vendor.ts';
