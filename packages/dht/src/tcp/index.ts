export { TcpRingPeer } from './tcp-ring-peer.js'
