// How the build turns the generated modules of the contract into what src/protobuf.ts reads.

import { fromBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { FieldDescriptorProto_Label as Label, FieldDescriptorProto_Type as Type } from "@bufbuild/protobuf/wkt";
import { FileDescriptorProtoSchema, type DescriptorProto, type EnumDescriptorProto } from "@bufbuild/protobuf/wkt";
import { type FieldDescriptorProto } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "vite";
import { prefixOf } from "./src/protobuf.ts";

const RUNTIME = new URL("src/protobuf.ts", import.meta.url).pathname;

/** Has the page read and write messages by src/protobuf.ts: 25 kB less than the library, whose types it keeps. */
export const smallProtobuf: Plugin = {
  name: "small-protobuf",
  enforce: "pre",
  resolveId: (id) => (/^@bufbuild\/protobuf(\/\w+)?$/.test(id) ? RUNTIME : undefined),
  transform(code, id) {
    if (!id.endsWith("_pb.ts")) return undefined;
    // The text of a file has its enums, too: the page makes their objects of it.
    const file = /^export const (file_\w+)/m.exec(code)?.[1];
    let enums = 0;
    return code
      .replace(/(?<=fileDesc\()"(\w|[+/])+"/, (bytes) => literal(JSON.parse(bytes)))
      .replace(/(?<=import \{ enumDesc)/, ", numbersOf")
      .replace(/^export enum (\w+) \{[^}]*\}/gm, (_, name) => `export const ${name} = /*@__PURE__*/ numbersOf(${file}, ${enums++});`);
  },
};

/** Return the part of an encoded file that src/protobuf.ts needs, in lines that `fileDesc` reads there. */
function literal(encoded: string): string {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(encoded));
  const scope = `.${file.package}.`;
  const named = (type: string) => (type.startsWith(scope) ? type.slice(scope.length) : type);
  const lines = [
    file.package,
    ...file.messageType.flatMap((message) => messageLines(message, named)),
    ...file.enumType.map(enumLine),
    ...file.service.map(({ name, method }) => {
      const methods = method.map(
        ({ name, inputType, outputType, serverStreaming }) => {
          if (named(inputType) !== `${name}Request` || named(outputType) !== `${name}Response`) {
            throw new Error(`src/protobuf.ts knows the messages of ${name} by its name`);
          }
          return name + (serverStreaming ? "*" : "");
        },
      );
      return ["service", name, ...methods].join(" ");
    }),
  ];
  return JSON.stringify(lines.join("\n"));
}

function messageLines(message: DescriptorProto, named: (type: string) => string, outer = ""): string[] {
  const { name, field, oneofDecl, nestedType, enumType, options } = message;
  if (enumType.length > 0) throw new Error(`src/protobuf.ts cannot read an enum in ${name}`);
  if (options?.mapEntry) throw new Error(`src/protobuf.ts cannot read the map ${name}`);
  const fields = field.map((each) => fieldWord(each, oneofDecl.map(({ name }) => name), named));
  const line = ["message", outer + name, ...fields].join(" ");
  return [line, ...nestedType.flatMap((nested) => messageLines(nested, named, `${outer}${name}.`))];
}

function fieldWord(field: FieldDescriptorProto, oneofs: string[], named: (type: string) => string): string {
  const { name, type, typeName, label, proto3Optional, oneofIndex } = field;
  if (type === Type.BYTES || type === Type.GROUP) throw new Error(`src/protobuf.ts cannot read the type of ${name}`);
  const isMember = Object.hasOwn(field, "oneofIndex") && !proto3Optional;
  const kind = typeName === "" ? type : named(typeName) + (type === Type.ENUM ? "!" : "");
  const list = label === Label.REPEATED ? "*" : "";
  return `${name}:${kind}${list}${proto3Optional ? "?" : ""}${isMember ? `|${oneofs[oneofIndex]}` : ""}`;
}

function enumLine({ name, value }: EnumDescriptorProto): string {
  const prefix = prefixOf(name);
  for (const [at, { name, number }] of value.entries()) {
    if (number !== at || !name.startsWith(prefix)) throw new Error(`src/protobuf.ts cannot read the value ${name}`);
  }
  return ["enum", name, ...value.map(({ name }) => name.slice(prefix.length))].join(" ");
}
