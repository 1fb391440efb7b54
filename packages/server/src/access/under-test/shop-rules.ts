/** For tests: the rules of a shop. The last bucket is still open, so that a test may append rights to it. */
export const SHOP_RULES: string = `
admin if claim.role == "admin"
bucket shop/products
  read, list
  write if claim.role == "editor"
bucket shop/orders
  read, delete if object.owner == claim.sub
  list if authenticated
  create if new.owner == claim.sub
  update if object.owner == claim.sub and new.owner == claim.sub
bucket shop/posts
  read if object.published == true or object.owner == claim.sub
`
