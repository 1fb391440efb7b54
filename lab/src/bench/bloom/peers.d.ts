/** Types for the peers that come without, only for what is used here. */

declare module 'bloomfilter' {
  export class BloomFilter {
    static withTargetError(entries: number, rate: number): BloomFilter
    readonly buckets: Uint32Array
    add(key: string): void
    test(key: string): boolean
  }
}

declare module 'bloom.js' {
  class BloomFilter {
    constructor(bits: number, hashes: number)
    readonly numBuckets: number
    add(key: string): void
    contains(key: string): boolean
  }

  export = BloomFilter
}

declare module 'bloomfilter.js' {
  class BloomFilter {
    constructor(entries: number, rate: number)
    add(key: string): void
    test(key: string): boolean
    bytelength(): number
  }

  export = BloomFilter
}

declare module 'blumea' {
  export class BloomFilter {
    constructor(entries: number, rate: number)
    readonly bit_set: number[]
    insert(key: string): void
    find(key: string): boolean
  }
}

declare module 'jsbloom' {
  interface JsBloom {
    readonly info: { readonly buffer: number }
    addEntry(key: string): boolean
    checkEntry(key: string): boolean
  }
  export function filter(entries: number, rate: number): JsBloom
}

declare module 'bloem' {
  export class SafeBloem {
    constructor(entries: number, rate: number)
    readonly filter: { readonly size: number }
    add(key: Uint8Array): boolean
    has(key: Uint8Array): boolean
  }
}

declare module 'bloom-filter' {
  class Filter {
    static create(entries: number, rate: number): Filter
    readonly vData: number[]
    insert(key: Uint8Array): Filter
    contains(key: Uint8Array): boolean
  }

  export = Filter
}
