/** A disk of the database's own, which can be full. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { memory } from '../_util/postgres.ts';

const prefix = 'roomgate-disk-';
/** It takes memory only as it is filled. */
const size = 8 * 2 ** 30;
const sparePages = 2_048;
const mostSparePages = 2 ** 17;

function mount(...args: string[]): void {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(error?.message ?? stderr.trim());
}

/** The disk, or why there can be none here. */
export function openDisk() {
  if (process.getuid?.() !== 0) return { missing: 'needs root' };
  if (!memory) return { missing: 'needs 2 GB of memory' };
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), prefix));
  const resize = (bytes: number) => mount('-o', `remount,size=${bytes}`, directory);
  const remove = () => {
    spawnSync('umount', ['--lazy', directory]);
    fs.rmSync(directory, { recursive: true, force: true });
  };
  try {
    mount('-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', directory);
  } catch (error) {
    remove();
    return { missing: (error as Error).message };
  }
  process.on('exit', remove);
  return {
    directory,
    /** Fills the disk but for a little: others write meanwhile, sometimes more than that. */
    fill() {
      for (let spare = sparePages; ; spare *= 2) {
        const { blocks, bfree, bsize } = fs.statfsSync(directory);
        try {
          resize((blocks - bfree + spare) * bsize);
          return;
        } catch (error) {
          if (spare >= mostSparePages) throw error;
        }
      }
    },
    empty: () => resize(size),
    remove,
  };
}

export type Disk = Exclude<ReturnType<typeof openDisk>, { missing: string }>;
