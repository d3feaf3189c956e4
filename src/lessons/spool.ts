/** Where a large body waits until all of it is here: a file that has no name, and so is gone with the process. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Unavailable } from '../errors.ts';
import type { Log } from '../log.ts';

/** Where it is in the file. */
export type Spooled = { at: number; length: number };

export type Spool = {
  append(bytes: Buffer): Promise<Spooled>;
  read(part: Spooled): Promise<Buffer>;
  close(): Promise<void>;
};

/** @throws Unavailable, as everything of it does, when there is no room for temporary files; the log tells why */
export async function openSpool(log: Log): Promise<Spool> {
  const directory = os.tmpdir();
  async function tried<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      log.error(
        { err: (error as Error).message, directory },
        'large imports need a folder for temporary files with room in it; make some, or name another one in TMPDIR',
      );
      throw new Unavailable('There is no room for the body at the moment; send the same request again.');
    }
  }
  async function make(): Promise<FileHandle> {
    const name = path.join(directory, `roomgate-${randomUUID()}`);
    const file = await open(name, 'wx+', 0o600);
    await unlink(name);
    return file;
  }

  const file = await tried(make());
  let end = 0;
  return {
    async append(bytes) {
      const part = { at: end, length: bytes.length };
      end += bytes.length;
      await tried(file.writeFile(bytes));
      return part;
    },
    async read({ at, length }) {
      const { buffer } = await tried(file.read(Buffer.allocUnsafe(length), 0, length, at));
      return buffer;
    },
    close: () => file.close(),
  };
}
