/**
 * The program. A sandbox child is the same program: it is told apart before anything of the gateway
 * is loaded, so that plugin code never shares a process with it and the child stays small.
 */
const argv = process.argv.slice(2);

// The executable begins with a reluctant compiler (`scripts/build.ts`), which only starts of the
// gateway and of a sandbox process gain from; both end it. Without a command a gateway starts too.
const [command = 'start'] = argv;
if (!['serve', 'start', '__sandbox'].includes(command)) Bun.unsafe.setJITPolicy(1);

if (argv[0] === '__sandbox') {
  void import('./sandbox/child/run-child.ts').then((child) => child.runSandboxChild());
} else {
  void import('./app/index.ts').then(async (app) => {
    // Explicitly: what a library leaves open (a pooled connection, a timer) must not keep a
    // finished command alive.
    process.exit(await app.runCli(argv));
  });
}
