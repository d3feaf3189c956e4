/**
 * Preloaded into a server: on request over its channel, it reports the longest turn of its event loop since the last request, in
 * milliseconds of CPU, as wall-clock time would include other work of the machine.
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
