import type { AddTypes } from '../graphql/builder.ts';
import { addDeviceTypes } from './device-graphql.ts';

export const addTypes: AddTypes = (builder) => {
  addDeviceTypes(builder);
};
