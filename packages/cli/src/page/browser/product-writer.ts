/**
 * Writes products as another client of the same server would. It uses commits: a PUT would make this browser drop its own copy,
 * as browsers do with a URL they write to, while no other browser in the world would.
 */
import { connect, type Database, FreshetError } from '@freshet/client'
import { BUCKET, newProduct, type Product } from './products.js'

export interface Written {
  readonly product: Product
  readonly version: number
}

const ATTEMPTS_MAX = 5

export class ProductWriter {
  readonly #db: Database

  private constructor(db: Database) {
    this.#db = db
  }

  static async open(): Promise<ProductWriter> {
    return new ProductWriter(await connect(location.origin, { read: 'current' }))
  }

  async latest(id: string): Promise<{ readonly product: Product | undefined; readonly version: number }> {
    const product = await this.#db.bucket<Product>(BUCKET).get(id)
    return { product, version: product?.version ?? 0 }
  }

  /** Applies the change to the latest product, and again if another client was faster. */
  async change(id: string, change: (product: Product) => Product): Promise<Written> {
    for (let attempt = 1; ; attempt++) {
      const { product: before, version } = await this.latest(id)
      const product = change(before ?? newProduct(id))
      try {
        const ifVersion = version === 0 ? 'absent' : version
        const { position } = await this.#db.commit([{ bucket: BUCKET, id, value: product, ifVersion }])
        return { product, version: position }
      } catch (error) {
        const isConflict = error instanceof FreshetError && error.code === 'COMMIT_CONFLICT'
        if (!isConflict || attempt === ATTEMPTS_MAX) throw error
      }
    }
  }
}
