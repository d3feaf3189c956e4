/**
 * The module `node:http`. Importing it would evaluate all of its exports, one of which loads all of fetch: 14 MB and 40
 * ms at every start.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
