// The parts of the platform that this package uses. Node and browsers both have them. Declaring them here means that neither
// the DOM's nor Node's types are needed, and that the compiler refuses anything else.

declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>
}

declare class TextDecoder {
  constructor(encoding?: string, options?: { fatal?: boolean })
  decode(bytes?: Uint8Array): string
}

declare function btoa(binary: string): string
declare function atob(base64: string): string
