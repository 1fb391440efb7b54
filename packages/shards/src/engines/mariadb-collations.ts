/**
 * What must be known about a collation to compare text by its weights. For all 1,242 collations of MariaDB 10.11, the order of
 * the server was compared with the order of the weights, for pairs of hostile texts: expansions, contractions, ignorable
 * characters, accents, case, spaces and control characters at the end.
 */
import type { ValueType } from '../plan/index.js'

/** The longest expansion of one character, U+FDFA, has 18 weights. */
const WEIGHTS_PER_CHARACTER_MAX = 18
/** Collations in which every character has one weight. */
const PLAIN =
  /_(?:general_ci|general_nopad_ci|general_mysql500_ci|bin|nopad_bin)$|^latin1_(?:swedish|german1|danish|general|spanish)_/
const UNPADDED = /_nopad_/
/**
 * Collations whose weights order text in another way than the server does, or reorder characters. Those of MySQL 8 (`_0900_`)
 * were not compared.
 */
const UNRELIABLE = /^(?:big5_chinese|cp1250_czech|latin2_czech|latin7_general|latin7_estonian|tis620_thai)_|_0900_/

export function collationTraits(
  collation: string,
  lengthMax: number,
): Pick<ValueType, 'weightsMax' | 'isUnpadded' | 'isLoose'> {
  if (UNRELIABLE.test(collation)) return { isLoose: true }
  const weightsMax = PLAIN.test(collation) ? lengthMax : lengthMax * WEIGHTS_PER_CHARACTER_MAX
  return { weightsMax, ...(UNPADDED.test(collation) ? { isUnpadded: true } : {}) }
}
