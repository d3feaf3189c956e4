import fs from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The one without windows first, which costs a fraction; then Debian's name of the other, and those of other systems. */
export function findBrowser(): string | undefined {
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/bin'];
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(fs.existsSync);
}

/** Without any network but this machine's. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (!executablePath) throw new Error('There is no chromium on the PATH; install it.');
  return await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
  });
}
