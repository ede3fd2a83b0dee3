/** Gives back what it reads: what two pipes and two processes take, without a guest. */
process.stdin.on('data', (chunk) => process.stdout.write(chunk));
