/**
 * The types of GraphQL operations that codegen.yml asks for. The command of GraphQL Code Generator makes the same of it, but
 * loads what reads schemas from anywhere, and `npm run check` would wait for it.
 */
import fs from 'node:fs';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildSchema, lexicographicSortSchema, parse, printSchema } from 'graphql';
import { parse as parseYaml } from 'yaml';

/** The part of the generator's configuration that codegen.yml uses. */
type Configuration = {
  schema: string;
  importExtension: string;
  generates: Record<string, { documents: string; presetConfig: object; config: object }>;
};

const read = (file: string) => fs.readFileSync(file, 'utf8');

function readDocuments(pattern: string) {
  return fs
    .globSync(pattern)
    .sort()
    .map((location) => ({ location, rawSDL: read(location), document: parse(read(location)) }));
}

export async function makeOperationTypes(): Promise<{ file: string; text: string }[]> {
  const { schema, importExtension, generates } = parseYaml(read('codegen.yml'), { merge: true }) as Configuration;
  const schemaAst = lexicographicSortSchema(buildSchema(read(schema)));
  const files: { file: string; text: string }[] = [];
  for (const [baseOutputDir, { documents, presetConfig, config }] of Object.entries(generates)) {
    const outputs = await preset.buildGeneratesSection({
      baseOutputDir,
      presetConfig,
      config: { ...config, importExtension },
      schema: parse(printSchema(schemaAst)),
      schemaAst,
      documents: readDocuments(documents),
      plugins: [],
      pluginMap: {},
    });
    // Each operation is imported by its name; what else the preset makes would find them by their texts.
    for (const output of outputs.filter(({ filename }) => filename.endsWith('/graphql.ts')))
      files.push({ file: output.filename, text: await codegen({ ...output, schemaAst }) });
  }
  return files;
}
