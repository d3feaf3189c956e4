/**
 * Preloaded into a server: asked over its channel, it tells for how long at most its event loop has worked in one turn since it
 * was last asked, in milliseconds of CPU: on a machine with other work the clock would tell of that.
 */
const lookMs = 2;

let worked = process.threadCpuUsage();
let longest = 0;

setInterval(() => {
  const { user, system } = process.threadCpuUsage(worked);
  worked = process.threadCpuUsage();
  longest = Math.max(longest, (user + system) / 1_000);
}, lookMs).unref();

process.on('message', (asked) => {
  if (asked !== 'longest turn') return;
  process.send?.(longest);
  longest = 0;
});
process.channel?.unref();
