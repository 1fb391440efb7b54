/** The advice at the end of refusals by a quota, whose reader may not be an admin. */
export function raisingQuota(namespace: string): string {
  return `have an admin raise the line "quota ${namespace}" of the rules (freshet rules apply)`
}
