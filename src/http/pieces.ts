/** Sends texts of megabytes piece by piece, at the pace of their readers. */
import type { ServerResponse } from 'node:http';

/** A piece of a text. */
export type TextPiece = {
  /** Its bytes. */
  readonly length: number;
  /** Whether it keeps its text in memory. */
  readonly isText: boolean;
  /** Writes its `length` bytes into a chunk, from `at` on. */
  write(chunk: Buffer, at: number): void;
};

/** A class, because an answer may have ten thousands. */
class Text implements TextPiece {
  readonly length: number;
  readonly isText = true;
  readonly #text: string;

  constructor(text: string) {
    this.length = Buffer.byteLength(text);
    this.#text = text;
  }
  write(chunk: Buffer, at: number): void {
    chunk.write(this.#text, at);
  }
}

export const pieceOf = (text: string): TextPiece => new Text(text);

/** Pieces with a text before them and one behind them. */
export const enclosed = (before: string, pieces: Iterable<TextPiece>, behind: string): Iterable<TextPiece> => ({
  *[Symbol.iterator]() {
    yield pieceOf(before);
    yield* pieces;
    yield pieceOf(behind);
  },
});

/** Bytes of a chunk. */
export const chunkLength = 131_072;
/**
 * The most that is kept: chunks for reuse, enough for a few answers; and while the length of an answer is counted, its
 * pieces and the bytes of their texts. The pieces of a longer answer are made again.
 */
const mostKept = { chunks: 64, pieces: 10_000, bytes: 1_048_576 };

/** The chunks in which a process writes answers. They are reused, as allocating them takes longer than filling them. */
export function openChunks() {
  const kept: Buffer[] = [];
  return {
    /** A chunk of at least `length` bytes, with undefined content. */
    take: (length: number): Buffer =>
      length <= chunkLength ? (kept.pop() ?? Buffer.allocUnsafeSlow(chunkLength)) : Buffer.allocUnsafeSlow(length),
    /** Returns a chunk that nobody reads any more. */
    giveBack(chunk: Buffer): void {
      if (chunk.length === chunkLength && kept.length < mostKept.chunks) kept.push(chunk);
    },
  };
}

export type Chunks = ReturnType<typeof openChunks>;

/** Where the chunks of a text go. */
type Outlet = {
  /** Whether nobody reads any more. */
  isGone(): boolean;
  /**
   * Sends a chunk.
   * @param written call it once nobody reads the chunk any more, or with an error if somebody still may
   * @returns what to await before the next one
   */
  send(chunk: Buffer, isLast: boolean, written: (error?: Error | null) => void): Promise<void> | undefined;
};

/**
 * Writes pieces at the pace of the reader, so that a text takes only the memory of a few chunks.
 * @param pause awaited between two pieces
 */
export async function writePieces(
  pieces: Iterable<TextPiece>,
  chunks: Chunks,
  pause: () => Promise<void> | undefined,
  outlet: Outlet,
): Promise<void> {
  let chunk = chunks.take(0);
  let used = 0;

  async function send(isLast: boolean): Promise<void> {
    const sent = chunk;
    // A chunk whose write failed may still be in use, so it is not reused.
    const taken = outlet.send(sent.subarray(0, used), isLast, (error) => {
      if (!error) chunks.giveBack(sent);
    });
    if (taken !== undefined) await taken;
  }
  for (const piece of pieces) {
    const { length } = piece;
    if (used + length > chunk.length) {
      if (used > 0) await send(false);
      else chunks.giveBack(chunk);
      chunk = chunks.take(length);
      used = 0;
    }
    piece.write(chunk, used);
    used += length;
    const paused = pause();
    if (paused !== undefined) await paused;
    if (outlet.isGone()) return;
  }
  await send(true);
}

/**
 * Sends pieces over HTTP; parameters as of `writePieces`.
 * @param maySend whether a text of so many bytes may be sent now
 * @returns whether it may; if not, nothing was sent
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: Iterable<TextPiece>,
  chunks: Chunks,
  pause: () => Promise<void> | undefined,
  maySend: (length: number) => boolean = () => true,
): Promise<boolean> {
  let length = 0;
  let bytes = 0;
  let counted: TextPiece[] | undefined = [];
  for (const piece of pieces) {
    length += piece.length;
    if (piece.isText) bytes += piece.length;
    counted?.push(piece);
    if (bytes > mostKept.bytes || (counted?.length ?? 0) > mostKept.pieces) counted = undefined;
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  if (!maySend(length)) return false;
  response.setHeader('Content-Length', length);
  // Node.js would discard the body only after it was written.
  if (response.req.method === 'HEAD') {
    response.end();
    return true;
  }
  let goOn = () => {};
  response.on('drain', () => goOn()).once('close', () => goOn());
  await writePieces(counted ?? pieces, chunks, pause, {
    isGone: () => response.destroyed,
    send(chunk, _isLast, written) {
      if (response.write(chunk, written) || response.destroyed) return undefined;
      return new Promise((resolve) => {
        goOn = resolve;
      });
    },
  });
  if (!response.destroyed) response.end();
  return true;
}
