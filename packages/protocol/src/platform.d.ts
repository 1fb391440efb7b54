// The parts of the platform that this package uses. Node and browsers both have them. Declaring them here means that neither
// the DOM's nor Node's types are needed, and that the compiler refuses anything else.

declare class TextEncoder {
  encode(text: string): Uint8Array<ArrayBuffer>
}
