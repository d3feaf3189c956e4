/** Holds a large body until all of it has arrived, in an unnamed temporary file that vanishes when the process ends. */
import { randomUUID } from 'node:crypto';
import fs, { type FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Unavailable } from '../errors.ts';
import type { Finding } from '../finding.ts';
import type { Log } from '../log.ts';

export type Spool = {
  append(bytes: Uint8Array): Promise<void>;
  /** Fills `into` with the bytes from `at` on. */
  read(into: Uint8Array, at: number): Promise<void>;
  close(): Promise<void>;
};

async function make(directory: string): Promise<FileHandle> {
  const name = path.join(directory, `roomgate-${randomUUID()}`);
  const file = await fs.open(name, 'wx+', 0o600);
  try {
    await fs.unlink(name);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function fill(file: FileHandle, into: Uint8Array, at: number): Promise<void> {
  for (let filled = 0; filled < into.length; ) {
    const { bytesRead } = await file.read(into, filled, into.length - filled, at + filled);
    if (bytesRead === 0) throw new Error('the temporary file is shorter than what was written');
    filled += bytesRead;
  }
}

/** @throws Unavailable, as all of its functions do, when temporary files cannot be written; the log names the cause */
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
      throw new Unavailable(
        'The server cannot store large bodies in its temporary folder. Tell its operator, whose log says why, and send the same request again when that is fixed.',
      );
    }
  }

  const file = await tried(make(directory));
  return {
    append: (bytes) => tried(file.writeFile(bytes)),
    read: (into, at) => tried(fill(file, into, at)),
    close: () => file.close(),
  };
}

/** For the doctor: whether a file can be written to the folder. */
export async function examineSpool(): Promise<Finding> {
  const check = 'Temporary files';
  const directory = os.tmpdir();
  try {
    const file = await make(directory);
    await file.writeFile('x').finally(() => file.close());
    return { check, level: 'ok', text: `can be written in ${directory}` };
  } catch (error) {
    return {
      check,
      level: 'fault',
      text: `cannot be written: ${(error as Error).message}`,
      remedy:
        'Make room in the folder and let roomgate write there, or name another one in TMPDIR: large imports wait there.',
    };
  }
}
