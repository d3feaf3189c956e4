/** JSON of megabytes, written piece by piece instead of by one call that stops the process. */
import type { ServerResponse } from 'node:http';

/** Returns so many bytes of an answer, which the caller fills before it asks again. */
export type Reserve = (length: number) => Buffer;

type NameOf = (name: string) => string;
const asItIs: NameOf = (name) => name;

/**
 * A list that writes its own JSON, which takes a fraction of what an object for each item does. To everybody else it is a list of
 * records, which are made when they are read.
 */
export class TextList<Item extends object = object> implements Iterable<Item> {
  readonly #names: readonly string[];
  readonly #items: () => readonly Item[];
  readonly #write: (names: readonly string[], reserve: Reserve) => void;

  /**
   * @param names the members of each item, in their order
   * @param write writes the JSON of the list, with other names of the members, into what it reserves
   */
  constructor(
    names: readonly string[],
    items: () => readonly Item[],
    write: (names: readonly string[], reserve: Reserve) => void,
  ) {
    this.#names = names;
    this.#items = items;
    this.#write = write;
  }

  /** Whether its items have these members, in this order. */
  hasNames(names: readonly string[]): boolean {
    return names.length === this.#names.length && names.every((name, at) => name === this.#names[at]);
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items()[Symbol.iterator]();
  }

  toJSON(): unknown {
    const chunks: Buffer[] = [];
    this.write((length) => (chunks[chunks.length] = Buffer.alloc(length)));
    return JSON.parse(Buffer.concat(chunks).toString());
  }

  renamed(nameOf: NameOf): TextList<Item> {
    return new TextList(this.#names.map(nameOf), this.#items, this.#write);
  }

  write(reserve: Reserve): void {
    this.#write(this.#names, reserve);
  }
}

/** An answer that is to be written in pieces. */
export class LargeJson {
  readonly value: object;

  constructor(value: object) {
    this.value = value;
  }

  toJSON(): object {
    return this.value;
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * The pieces of the JSON of an answer.
 * @param nameOf renames the members
 */
export const jsonPieces = ({ value }: LargeJson, nameOf: NameOf = asItIs) => piecesOf(value, nameOf);

function* piecesOf(value: unknown, nameOf: NameOf): Generator<string | TextList> {
  if (value instanceof TextList) yield nameOf === asItIs ? value : value.renamed(nameOf);
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      yield at === 0 ? '[' : ',';
      yield* piecesOf(item, nameOf);
    }
    yield value.length === 0 ? '[]' : ']';
  } else if (isPlain(value)) {
    let before = '{';
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(nameOf(name))}:`;
      yield* piecesOf(member, nameOf);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value) ?? 'null';
}

const chunkLength = 131_072;

/** Packs pieces for sending. @param pause is waited for between two lists */
export async function packPieces(
  pieces: Iterable<string | TextList>,
  pause: () => Promise<void> | undefined,
): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let [chunk, used, text] = [Buffer.alloc(0), 0, ''];
  function reserve(length: number): Buffer {
    if (used + length > chunk.length) {
      chunks.push(chunk.subarray(0, used));
      chunk = Buffer.allocUnsafeSlow(Math.max(length, chunkLength));
      used = 0;
    }
    used += length;
    return chunk.subarray(used - length, used);
  }
  function packText(): void {
    reserve(Buffer.byteLength(text)).write(text);
    text = '';
  }
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      text += piece;
      continue;
    }
    packText();
    piece.write(reserve);
    await pause();
  }
  packText();
  return [...chunks, chunk.subarray(0, used)];
}

/** Sends a body and its length; Node.js keeps the body back from HEAD. */
export function sendChunks(response: ServerResponse, chunks: readonly Buffer[]): void {
  response.setHeader(
    'Content-Length',
    chunks.reduce((sum, chunk) => sum + chunk.length, 0),
  );
  response.cork();
  for (const chunk of chunks) response.write(chunk);
  response.end();
  response.uncork();
}
