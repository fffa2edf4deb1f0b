// QR codes (ISO/IEC 18004) of short texts: bytes, versions 1 to 5, error correction L. The page loads this on demand.

/** The number of codewords for data, and for error correction, of each version. */
const VERSIONS = [
  [19, 7],
  [34, 10],
  [55, 15],
  [80, 20],
  [108, 26],
] as const;
const MODE_BYTES = 4;
const PADDING = [0xec, 0x11];
/** The polynomials of the field of error correction, and of the code of the format. */
const FIELD = 0x11d;
const FORMAT = 0x537;
const FORMAT_MASK = 0x5412;
const LEVEL_L = 1;

const MASKS: ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Return the dark modules of a code, row by row; null if the text is too long (106 bytes). */
export function qrOf(text: string): boolean[][] | null {
  const bytes = new TextEncoder().encode(text);
  const version = 1 + VERSIONS.findIndex(([room]) => bytes.length <= room - 2);
  if (version === 0) return null;
  const bits = bitsOf(bytes, version);
  const codes = MASKS.map((_, mask) => draw(version, bits, mask));
  return codes.reduce((best, code) => (penalty(code) < penalty(best) ? code : best));
}

/** Return the bits of data and error correction. */
function bitsOf(bytes: Uint8Array, version: number): number[] {
  const [room, corrections] = VERSIONS[version - 1]!;
  const nibbles = [MODE_BYTES, bytes.length >> 4, bytes.length & 15, ...[...bytes].flatMap((byte) => [byte >> 4, byte & 15]), 0];
  const data = Array.from({ length: nibbles.length / 2 }, (_, at) => (nibbles[2 * at]! << 4) | nibbles[2 * at + 1]!);
  while (data.length < room) data.push(PADDING[(data.length - bytes.length) % 2]!);
  const words = [...data, ...correctionOf(data, corrections)];
  return words.flatMap((word) => Array.from({ length: 8 }, (_, at) => (word >> (7 - at)) & 1));
}

function times(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ (product & 0x80 ? FIELD : 0);
    if ((other >> bit) & 1) product ^= one;
  }
  return product;
}

/** Return the remainder of the data by the product of (x - 2^i), which is the code of Reed and Solomon. */
function correctionOf(data: number[], length: number): number[] {
  let divisor = [1];
  for (let root = 1, degree = 0; degree < length; degree++, root = times(root, 2)) {
    const next = [...divisor, 0];
    divisor.forEach((factor, at) => (next[at + 1]! ^= times(factor, root)));
    divisor = next;
  }
  const rest = [...data, ...Array<number>(length).fill(0)];
  for (let at = 0; at < data.length; at++) {
    const factor = rest[at]!;
    divisor.forEach((term, offset) => (rest[at + offset]! ^= times(term, factor)));
  }
  return rest.slice(data.length);
}

function draw(version: number, bits: number[], mask: number): boolean[][] {
  const size = 17 + 4 * version;
  const code = Array.from({ length: size }, () => Array<boolean | undefined>(size).fill(undefined));
  const set = (x: number, y: number, isDark: boolean) => {
    if (code[y]?.[x] !== undefined || code[y] === undefined || x < 0 || x >= size) return;
    code[y]![x] = isDark;
  };
  /** Draw rings around a centre: `light` has the distances of the light ones. */
  const rings = (centreX: number, centreY: number, reach: number, light: number[]) => {
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        set(centreX + x, centreY + y, !light.includes(Math.max(Math.abs(x), Math.abs(y))));
      }
    }
  };
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) rings(x, y, 4, [2, 4]);
  if (version > 1) rings(size - 7, size - 7, 2, [1]);
  for (let at = 8; at < size - 8; at++) {
    set(at, 6, at % 2 === 0);
    set(6, at, at % 2 === 0);
  }
  format(mask, size, set);
  let next = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right--; // the column of the timing pattern
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++) {
      const y = isUpward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (code[y]![x] === undefined) code[y]![x] = ((bits[next++] ?? 0) === 1) !== MASKS[mask]!(x, y);
      }
    }
  }
  return code as boolean[][];
}

/** Draw the level and the mask, twice. */
function format(mask: number, size: number, set: (x: number, y: number, isDark: boolean) => void): void {
  const data = (LEVEL_L << 3) | mask;
  let rest = data << 10;
  for (let bit = 14; bit >= 10; bit--) if ((rest >> bit) & 1) rest ^= FORMAT << (bit - 10);
  const bits = ((data << 10) | rest) ^ FORMAT_MASK;
  for (let bit = 0; bit < 15; bit++) {
    const isDark = ((bits >> bit) & 1) === 1;
    set(8, bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit, isDark);
    set(bit < 8 ? size - 1 - bit : bit === 8 ? 7 : 14 - bit, 8, isDark);
  }
  set(8, size - 8, true);
}

/** Return how hard a code is to read: runs of five and more, and squares of one colour. */
function penalty(code: boolean[][]): number {
  const columns = code.map((_, x) => code.map((row) => row[x]!));
  let sum = 0;
  for (const line of [...code, ...columns]) {
    for (let at = 0, run = 1; at < line.length; at++, run++) {
      if (line[at] === line[at + 1]) continue;
      if (run >= 5) sum += run - 2;
      run = 0;
    }
  }
  code.forEach((row, y) =>
    row.forEach((isDark, x) => {
      const others = [row[x + 1], code[y + 1]?.[x], code[y + 1]?.[x + 1]];
      if (others.every((other) => other === isDark)) sum += 3;
    }),
  );
  return sum;
}
