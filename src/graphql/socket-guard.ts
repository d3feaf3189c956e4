/**
 * Bounds the bytes, the time and the number of a WebSocket's messages, which ws does not: only a few bytes before the credential is
 * accepted, and then messages that arrive within the time of a body, not too many in a minute.
 */
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Context, Viewer } from '../context.ts';
import { openAccount, personSends } from '../http/body-memory.ts';
import { largestOf } from '../http/request-body.ts';

/** Milliseconds for the closing handshake of a socket. */
export const goodbyeTimeoutMs = 1_000;

/** The bounds before the credential is accepted. */
const outside = { bytes: 16 * 1024, milliseconds: 15_000 };

export type SocketGuard = {
  /** Bounds a new socket, whose credential is not accepted yet. @param head bytes that came with its request */
  keepOutside(opened: WebSocket, socket: Duplex, head: Buffer): void;
  /** Applies the bounds of messages once the credential is accepted. */
  letIn(opened: WebSocket, viewer: Viewer): void;
};

/** Closes a socket without reading any more of it, not even its close frame. */
function refuse(opened: WebSocket, code: number, reason: string): void {
  opened.close(code, reason);
  opened.pause();
  setTimeout(() => WebSocket.prototype.terminate.call(opened), goodbyeTimeoutMs).unref();
}

export function openSocketGuard({ Limits }: Context['config']): SocketGuard {
  const { BodySeconds, BodyBytes, BodyBytesPerSecond, RequestsPerMinute } = Limits;
  /** Of a minute. Only operations that run count as requests: others that are refused, cancelled or pings cost time as well. */
  const mostMessages = 10 * RequestsPerMinute;
  /** The largest message may take as long as the largest body. */
  const messageTimeoutMs = (BodySeconds + BodyBytes / BodyBytesPerSecond) * 1_000;
  /** For each socket whose credential is not accepted yet, the function that admits it. */
  const lettingIn = new WeakMap<WebSocket, (viewer: Viewer) => void>();

  /** Counts the bytes of a message until it is complete. */
  function countMessages(opened: WebSocket, socket: Duplex, viewer: Viewer): void {
    const account = openAccount(personSends(viewer), largestOf(Limits));
    let bytes = 0;
    let late: NodeJS.Timeout | undefined;
    function hold(now: number): void {
      if (bytes === 0 && now > 0) late = setTimeout(giveUp, messageTimeoutMs).unref();
      bytes = Math.max(0, now);
      if (bytes === 0) clearTimeout(late);
      account.hold(bytes);
    }
    function giveUp(): void {
      forget();
      refuse(opened, 1008, 'The message comes too slowly');
    }
    function count(chunk: Buffer): void {
      try {
        hold(bytes + chunk.length);
      } catch {
        forget();
        refuse(opened, 1013, 'Try again later');
      }
    }
    function forget(): void {
      socket.off('data', count);
      hold(0);
    }
    let [since, messages] = [performance.now(), 0];
    function countMessage(): void {
      const now = performance.now();
      if (now - since >= 60_000) [since, messages] = [now, 0];
      messages += 1;
      if (messages !== mostMessages + 1) return;
      forget();
      refuse(opened, 1008, 'Too many messages in a minute');
    }
    // A client's control frame has six bytes besides its payload. It may come between the frames of a message.
    const leaveOut = (payload: Buffer) => hold(bytes - payload.length - 6);
    // Before the listener of ws, which emits a message as soon as it is complete.
    socket.prependListener('data', count).once('close', forget);
    opened
      .on('message', () => hold(0))
      .on('ping', leaveOut)
      .on('pong', leaveOut);
    for (const kind of ['message', 'ping', 'pong']) opened.on(kind, countMessage);
  }

  return {
    keepOutside(opened, socket, head) {
      let bytes = head.length;
      function leave(): void {
        clearTimeout(timeout);
        socket.off('data', count);
      }
      function keepOut(code: number, reason: string): void {
        leave();
        refuse(opened, code, reason);
      }
      function count(chunk: Buffer): void {
        bytes += chunk.length;
        if (bytes > outside.bytes) keepOut(1009, 'Too much before connection_init is accepted');
      }
      const timeout = setTimeout(() => keepOut(4408, 'Not let in in time'), outside.milliseconds).unref();
      socket.on('data', count).once('close', leave);
      lettingIn.set(opened, (viewer) => {
        leave();
        countMessages(opened, socket, viewer);
      });
    },
    letIn: (opened, viewer) => lettingIn.get(opened)?.(viewer),
  };
}
