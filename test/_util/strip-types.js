import { stripTypeScriptTypes } from 'node:module';

/** Jest transformer: removes the types and keeps every line where it is, as Node itself does. */
const strip = (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) });

export default { process: strip, processAsync: async (source) => strip(source) };
