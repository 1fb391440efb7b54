/** What the pages do in the browser. Everything comes from this site; nothing is sent anywhere. */
import { addCopyButtons } from './copy-buttons.js'
import { foldOnNarrowScreens } from './folding.js'
import { watchScrollAreas } from './scroll-areas.js'
import { startSearch } from './search-box.js'

foldOnNarrowScreens()
addCopyButtons()
watchScrollAreas()
startSearch()
