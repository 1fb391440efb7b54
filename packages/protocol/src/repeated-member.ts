/** Finds a member that occurs twice in one object of a JSON text: JSON.parse would silently keep the last. */

/** Names of members, other strings, and where objects begin and end. */
const TOKEN = /("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs

/** The first repeated name in a valid JSON text; undefined if no name is repeated. */
export function repeatedMember(json: string): string | undefined {
  const open: Set<string>[] = []
  for (const [token, spelled] of json.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (spelled !== undefined) {
      const name = JSON.parse(spelled) as string
      if (open.at(-1)!.has(name)) return name
      open.at(-1)!.add(name)
    }
  }
  return undefined
}
