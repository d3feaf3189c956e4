/**
 * What one WebSocket sends. A long message is sent in fragments, at the pace of its reader, and never held in memory as
 * one text. Only control frames may be sent between its fragments, so other messages wait.
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
   * Characters of messages that are not sent yet; each answer under way may have as many more. Beyond that, nothing is
   * read from the client, because nothing else bounds refusals and answers to pings.
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

  /** Whether the client reads too slowly. Answers do not count: pings are answered even over a slow line. */
  get #isFlooded(): boolean {
    return this.#unsent > most.unsent * (1 + this.#underWay);
  }

  /**
   * Waits until another answer may begin. For a reader that does not read, no more answers are made.
   * @returns a function to call at the end of the answer
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
   * Sends a message. From a client that does not read its answers, nothing is read until it does, not even pongs.
   * @param sent is also called if the client has disconnected: the socket closes then
   */
  send(text: string, sent: () => void): void {
    this.#unsent += text.length;
    if (this.#isFlooded) this.#socket.pause();
    const taken = () => {
      this.#unsent -= text.length;
      // A closing socket is not read.
      if (!this.#isFlooded && this.#socket.readyState === WebSocket.OPEN) this.#socket.resume();
      sent();
    };
    const send = () => WebSocket.prototype.send.call(this.#socket, text, {}, taken);
    if (this.#long !== undefined) void this.#long.then(send);
    else send();
  }

  /** Sends a long message. @param isOver whether nobody waits for it any more; called before it begins */
  async sendPieces(pieces: Iterable<TextPiece>, chunks: Chunks, isOver: () => boolean): Promise<void> {
    const sending = this.#sendAfter(this.#long, pieces, chunks, isOver);
    // A message that breaks off cannot be repaired.
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
