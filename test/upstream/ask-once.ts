// Run as a process of its own, with proxy variables set: prints the status of one request.
import { get, testUpstream } from './harness.ts';

const upstream = testUpstream();
const result = await upstream.request(get(process.argv[2] ?? ''));
if (result.ok) await result.value.text();
process.stdout.write(result.ok ? String(result.value.status) : result.error.message);
await upstream.close();
