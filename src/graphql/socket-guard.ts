/**
 * What a WebSocket may send and how long it may take, which ws itself does not bound: little before its credential is accepted,
 * and then messages that arrive within the time of a body.
 */
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Context, Viewer } from '../context.ts';
import { openAccount, personSends } from '../http/body-memory.ts';
import { largestOf } from '../http/request-body.ts';

/** Milliseconds for which a socket that was closed may say goodbye. */
export const goodbyeTimeout = 1_000;

/** Before the credential is accepted. */
const outside = { bytes: 16 * 1024, milliseconds: 15_000 };

export type SocketGuard = {
  /** Bounds a new socket as one whose credential is not accepted yet. @param head what came with its request */
  keepOutside(opened: WebSocket, socket: Duplex, head: Buffer): void;
  /** Bounds it by its messages from now on. */
  letIn(opened: WebSocket, viewer: Viewer): void;
};

/** Nothing more of it is read, not even its goodbye. */
function refuse(opened: WebSocket, code: number, reason: string): void {
  opened.close(code, reason);
  opened.pause();
  setTimeout(() => WebSocket.prototype.terminate.call(opened), goodbyeTimeout).unref();
}

export function openSocketGuard({ Limits }: Context['config']): SocketGuard {
  const { BodySeconds, BodyBytes, BodyBytesPerSecond } = Limits;
  /** The largest message may take as long as the largest body. */
  const messageTimeoutMs = (BodySeconds + BodyBytes / BodyBytesPerSecond) * 1_000;
  /** By each socket that is outside: how to let it in. */
  const lettingIn = new WeakMap<WebSocket, (viewer: Viewer) => void>();

  /** Counts what a message holds until its end has come. */
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
    // A frame of a client has six bytes beside what it says. It may come within a message.
    const leaveOut = (said: Buffer) => hold(bytes - said.length - 6);
    // Before ws, which tells of a message as soon as it has all of it.
    socket.prependListener('data', count).once('close', forget);
    opened
      .on('message', () => hold(0))
      .on('ping', leaveOut)
      .on('pong', leaveOut);
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
