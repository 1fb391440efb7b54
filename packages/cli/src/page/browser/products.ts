/** The objects that the page is about: the command's samples. */
export interface Product {
  readonly name: string
  readonly price: number
}

export const BUCKET = 'shop/products'
export const PRODUCT_IDS: readonly string[] = ['tea', 'mug', 'kettle']

export function pathOf(id: string): string {
  return `/db/${BUCKET}/${id}`
}

export function priceText({ price }: Product): string {
  // A non-breaking space.
  return `€\u00a0${price.toFixed(2)}`
}

/** The product that is shown before the first write. */
export function newProduct(id: string): Product {
  return { name: id[0]!.toUpperCase() + id.slice(1), price: 0 }
}
