/** JSON merge patch, RFC 7396, on text: members that the patch does not name stay as they were sent, byte for byte. */
import { type JsonNode, parseJsonTree } from './json-text.js'

/** Both arguments are valid JSON, and so is the result. */
export function mergePatch(target: string, patch: string): string {
  return merge(parseJsonTree(target), parseJsonTree(patch))
}

function merge(target: JsonNode | undefined, patch: JsonNode): string {
  if (patch.members === undefined) return patch.text
  const merged = new Map<string, string>()
  for (const [name, member] of target?.members ?? []) merged.set(name, member.text)
  for (const [name, member] of patch.members) {
    if (member.text === 'null') merged.delete(name)
    else merged.set(name, merge(target?.members?.get(name), member))
  }
  return `{${[...merged].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}
