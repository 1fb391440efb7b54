/** Types for libraries that come without, only for what is used here. */

declare module 'fnv-plus' {
  const fnv: {
    /** FNV-1a, 32 bits, of the low bytes of the characters. */
    fast1a32(text: string): number
  }
  export = fnv
}

declare module 'jstat' {
  const jstat: {
    jStat: {
      chisquare: {
        cdf(value: number, degreesOfFreedom: number): number
        inv(probability: number, degreesOfFreedom: number): number
      }
      binomial: { cdf(successes: number, trials: number, probability: number): number }
    }
  }
  export = jstat
}
