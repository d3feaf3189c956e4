/** Clocks that jump: Debian's libfaketime shows a process another time of day; its timers are not affected. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);

/** The clock of one process, or why it cannot be moved here. */
export function openClock() {
  const library = libraries.find((file) => fs.existsSync(file));
  if (!library) return { missing: 'needs libfaketime: apt-get install faketime' };
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-clock-'));
  const file = path.join(directory, 'offset');
  const set = (offset: string) => fs.writeFileSync(file, `${offset}\n`);
  set('+0');
  const remove = () => fs.rmSync(directory, { recursive: true, force: true });
  process.on('exit', remove);
  return {
    /** Of the process whose clock it is; it looks each second. */
    settings: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    /** @param offset from the true time, as `+1h` */
    set,
    remove,
  };
}

export type MovableClock = Exclude<ReturnType<typeof openClock>, { missing: string }>;
