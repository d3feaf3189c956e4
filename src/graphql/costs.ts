/** The default costs of fields: a scalar costs a tenth of an object, because it takes no step of its own. */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      costs: CostsPlugin<Types>;
    }
  }
}

const pluginName = 'costs';
const ofScalar = 0.1;

class CostsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { type, pothosOptions } = config;
    const { kind } = type.kind === 'List' ? type.type : type;
    if ((kind !== 'Scalar' && kind !== 'Enum') || 'complexity' in pothosOptions) return config;
    const options = { ...pothosOptions, complexity: ofScalar };
    return { ...config, pothosOptions: options } as PothosOutputFieldConfig<Types>;
  }
}

SchemaBuilder.registerPlugin(pluginName, CostsPlugin);

export default pluginName;
