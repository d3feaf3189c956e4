/**
 * What one WebSocket sends. A long message goes in fragments, at the pace of its reader: it is never one text in memory. Between
 * its fragments only control frames may stand, so other messages wait.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import { WebSocket } from 'ws';
import { LimitExceeded } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { type Chunks, type TextPiece, writePieces } from '../http/pieces.ts';

const most = {
  /** Answers of a socket under way, each from the beginning of its operation until it is sent. */
  answers: 8,
  /** Answers that wait for one of these to be sent. */
  waiting: 100,
  /**
   * Characters of messages that are not sent yet; each answer under way may have as many more. Past that, nothing is read from
   * the client, since nothing else bounds the refusals and the answers to its pings.
   */
  unsent: 1_048_576,
};

export class Outbox {
  readonly #socket: WebSocket;
  #answers: LimitFunction | undefined;
  /** The last long message that is under way. */
  #long: Promise<void> | undefined;
  /** Characters of the messages that are not sent yet, other than long ones. */
  #unsent = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get #underWay(): number {
    return this.#answers?.activeCount ?? 0;
  }

  /** Whether a further answer must wait until one of those under way has been sent. */
  get isFull(): boolean {
    return this.#underWay >= most.answers;
  }

  /** Whether its client takes too little. Answers do not count: while one that is not large is sent over a slow line, pings are answered. */
  get #isFlooded(): boolean {
    return this.#unsent > most.unsent * (1 + this.#underWay);
  }

  /**
   * Waits until one more answer may be under way. A reader that takes nothing gets nothing more made.
   * @returns a function that ends it
   * @throws LimitExceeded
   */
  async beginAnswer(): Promise<() => void> {
    this.#answers ??= pLimit(most.answers);
    if (this.#answers.pendingCount >= most.waiting)
      throw new LimitExceeded(
        `${most.waiting} operations of this WebSocket wait already, as ${most.answers} of its answers have not been sent yet; read them, and send this one again.`,
      );
    const over = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    void this.#answers(() => {
      begun.resolve();
      return over.promise;
    });
    await begun.promise;
    return over.resolve;
  }

  /**
   * Sends a message. Of a client that takes no answers nothing is read until it does, not even that it is alive.
   * @param sent is called also if the client has disconnected: the socket closes then
   */
  send(text: string, sent: () => void): void {
    this.#unsent += text.length;
    if (this.#isFlooded) this.#socket.pause();
    const taken = () => {
      this.#unsent -= text.length;
      // One that is being closed is not read any more.
      if (!this.#isFlooded && this.#socket.readyState === WebSocket.OPEN) this.#socket.resume();
      sent();
    };
    const send = () => WebSocket.prototype.send.call(this.#socket, text, {}, taken);
    if (this.#long !== undefined) void this.#long.then(send);
    else send();
  }

  /** Sends a long message. @param isOver whether nobody waits for it any more; asked before it begins */
  async sendPieces(pieces: Iterable<TextPiece>, chunks: Chunks, isOver: () => boolean): Promise<void> {
    const sending = this.#sendAfter(this.#long, pieces, chunks, isOver);
    // Half a message cannot be mended.
    const long = sending.catch(() => this.#socket.terminate());
    this.#long = long;
    void long.then(() => {
      if (this.#long === long) this.#long = undefined;
    });
    await sending;
  }

  async #sendAfter(
    before: Promise<void> | undefined,
    pieces: Iterable<TextPiece>,
    chunks: Chunks,
    isOver: () => boolean,
  ): Promise<void> {
    await before;
    if (isOver()) return;
    const socket = this.#socket;
    await writePieces(pieces, chunks, openSlices(), {
      isGone: () => socket.readyState !== socket.OPEN,
      send: (chunk, fin, written) =>
        new Promise((resolve) => {
          WebSocket.prototype.send.call(socket, chunk, { binary: false, fin }, (error) => {
            written(error);
            resolve();
          });
        }),
    });
  }
}
