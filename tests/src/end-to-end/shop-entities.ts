/** Entity classes for the tests: the thesis's coffees, and a shop around them. */
import { entity, type FieldsClass, Reference, type WithReferences } from '@freshet/client/entities'

/** A class that refers to itself, and whose constructor is not called on loading. */
export class Coffee {
  name: string
  countryCode: number
  caffeine: boolean
  parent: Reference<Coffee> | null

  constructor(name: string, countryCode: number, caffeine: boolean, parent: Coffee | null) {
    this.name = name
    this.countryCode = countryCode
    this.caffeine = caffeine
    this.parent = parent && Reference.to(parent)
  }

  get label(): string {
    return `${this.name}${this.caffeine ? '' : ', without caffeine'}`
  }
}
entity(Coffee, 'shop/coffees', { references: { parent: () => Coffee } })

/** As generated code would have it: references are ids. */
interface RoasterFields {
  readonly name: string
}
interface ItemFields {
  count: number
  coffee: string | null
}
interface OrderFields {
  customer: string
  items: string[]
  note?: { text: string; tags: string[] }
  /** The id of a coffee or of a roaster, with its bucket. */
  about?: string
}

export type Roaster = RoasterFields
export type Item = WithReferences<ItemFields, { coffee: Coffee }>
export type Order = WithReferences<OrderFields, { items: Item; about: Coffee | Roaster }>

export const Roaster: FieldsClass<Roaster> = entity<RoasterFields>('shop/roasters')
export const Item: FieldsClass<Item> = entity<Item>('shop/items', { references: { coffee: () => Coffee } })
export const Order: FieldsClass<Order> = entity<Order>('shop/orders', {
  references: { items: () => Item, about: () => [Coffee, Roaster] },
  cascade: { items: ['persist', 'remove'] },
})

/** Reports every call of a hook to `onHook`. */
export class Hooked {
  static onHook: (name: string, entity: Hooked) => void = () => {}
  value: number

  constructor(value: number) {
    this.value = value
  }
}
entity(Hooked, 'shop/hooked', {
  beforePersist: hooked => Hooked.onHook('beforePersist', hooked),
  beforeUpdate: hooked => Hooked.onHook('beforeUpdate', hooked),
  beforeRemove: hooked => Hooked.onHook('beforeRemove', hooked),
  afterLoad: hooked => Hooked.onHook('afterLoad', hooked),
})
