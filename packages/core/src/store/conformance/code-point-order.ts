/** The order of strings by their code points, written plainly for the models. UTF-16, which `<` uses, has another order. */
export function compareCodePoints(a: string, b: string): number {
  const [pointsA, pointsB] = [[...a], [...b]]
  for (let i = 0; i < Math.min(pointsA.length, pointsB.length); i++) {
    const difference = pointsA[i]!.codePointAt(0)! - pointsB[i]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return pointsA.length - pointsB.length
}
