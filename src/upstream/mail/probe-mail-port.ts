import { connect as connectTls } from 'node:tls';
import { type ConnectMail, connectDirectly } from './open-mail-socket.ts';

/**
 * Whether a port begins with TLS, or with a greeting in clear, found by a connection of its own.
 */
export async function mailPortBegins(
  { address, port }: { address: string; port: number },
  way: 'tls' | 'plain',
  { timeoutMs, connect = connectDirectly }: { timeoutMs: number; connect?: ConnectMail | undefined },
): Promise<boolean> {
  const opened = await connect(address, port, timeoutMs);
  if (!opened.ok) return false;
  return new Promise((resolve) => {
    // Nothing is sent there, so whose certificate it is does not matter.
    const socket = way === 'tls' ? connectTls({ socket: opened.value, rejectUnauthorized: false }) : opened.value;
    const settle = (begins: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      opened.value.destroy();
      resolve(begins);
    };
    const timer = setTimeout(() => settle(false), timeoutMs);
    if (way === 'tls') socket.once('secureConnect', () => settle(true));
    else socket.once('data', (chunk: Buffer) => settle(/^\d{3}[ -]/.test(chunk.toString('latin1'))));
    socket.on('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}
