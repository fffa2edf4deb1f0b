// How the build turns the generated modules of the contract into what src/protobuf.ts reads.

import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { FieldDescriptorProto_Label as Label, FieldDescriptorProto_Type as Type } from "@bufbuild/protobuf/wkt";
import { FileDescriptorProtoSchema, type DescriptorProto, type FieldDescriptorProto } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "vite";

const RUNTIME = new URL("src/protobuf.ts", import.meta.url).pathname;

/** Has the page read and write messages by src/protobuf.ts: 25 kB less than the library, whose types it keeps. */
export const smallProtobuf: Plugin = {
  name: "small-protobuf",
  enforce: "pre",
  resolveId: (id) => (/^@bufbuild\/protobuf(\/\w+)?$/.test(id) ? RUNTIME : undefined),
  transform(code, id) {
    if (!id.endsWith("_pb.ts")) return undefined;
    return code.replace(/(?<=fileDesc\()"(\w|[+/])+"/, (bytes) => literal(JSON.parse(bytes)));
  },
};

/** Return the part of an encoded file that src/protobuf.ts needs. */
function literal(encoded: string): string {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(encoded));
  const services = file.service.map(({ name, method }) => ({
    name,
    methods: method.map(({ name, inputType, outputType, serverStreaming }) => ({
      name,
      input: inputType.slice(1),
      output: outputType.slice(1),
      ...(serverStreaming ? { isStream: true } : {}),
    })),
  }));
  const enums = file.enumType.map(({ name, value }) => ({
    name,
    values: value.map(({ name, number }) => ({ name, number })),
  }));
  return JSON.stringify({ package: file.package, messages: file.messageType.map(messageOf), enums, services });
}

function messageOf({ name, field, oneofDecl, nestedType, enumType, options }: DescriptorProto): object {
  if (enumType.length > 0) throw new Error(`src/protobuf.ts cannot read an enum in ${name}`);
  if (options?.mapEntry) throw new Error(`src/protobuf.ts cannot read the map ${name}`);
  const fields = field.map((each) => fieldOf(each, oneofDecl.map(({ name }) => name)));
  return { name, fields, ...(nestedType.length > 0 ? { messages: nestedType.map(messageOf) } : {}) };
}

function fieldOf(field: FieldDescriptorProto, oneofs: string[]): object {
  const { name, type, typeName, label, proto3Optional, oneofIndex } = field;
  if (type === Type.BYTES || type === Type.GROUP) throw new Error(`src/protobuf.ts cannot read the type of ${name}`);
  const isMember = Object.hasOwn(field, "oneofIndex") && !proto3Optional;
  return {
    name,
    type,
    ...(typeName === "" ? {} : { typeName: typeName.slice(1) }),
    ...(label === Label.REPEATED ? { isList: true } : {}),
    ...(proto3Optional ? { isOptional: true } : {}),
    ...(isMember ? { oneof: oneofs[oneofIndex] } : {}),
  };
}
