package mldsa

import (
	"container/list"
	"sync"
)

// Keys is a bounded cache of public keys by their bytes, for programs that parse the same keys again
// and again. A key enters after its first valid signature; from then on Parse returns this value,
// which is expanded after its second. The least recently used key leaves first, and its expansion is
// freed when the verifications under it have ended; a key that left stays usable. The zero value caches nothing.
type Keys struct {
	mutex sync.Mutex
	max   int
	keys  map[keyID]*list.Element
	order *list.List
}

type keyID struct {
	set     Set
	encoded string
}

// NewKeys makes a cache of at most size keys; at least one.
func NewKeys(size int) *Keys {
	return &Keys{max: max(size, 1), keys: map[keyID]*list.Element{}, order: list.New()}
}

// Parse is ParsePublicKey that returns the same *PublicKey for the same bytes while it is cached.
func (c *Keys) Parse(set Set, encoded []byte) (*PublicKey, error) {
	if c == nil || c.max == 0 {
		return ParsePublicKey(set, encoded)
	}
	if key := c.find(set, encoded); key != nil {
		return key, nil
	}
	key, err := ParsePublicKey(set, encoded)
	if err == nil {
		key.cache = c
	}
	return key, err
}

func (c *Keys) find(set Set, encoded []byte) *PublicKey {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	// The compiler does not copy the bytes for a look-up.
	element, ok := c.keys[keyID{set, string(encoded)}]
	if !ok {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*PublicKey)
}

// hasSigned counts a valid signature: after the first one the key enters, after the second one it is
// expanded. If another value of the key is cached, both share its expansion.
func (c *Keys) hasSigned(key *PublicKey) {
	if cached := c.enter(key); cached != nil {
		native := cached.native.Load()
		// Without the lock, because it takes as long as a verification.
		native.prepare(cached)
		if c.find(key.set, []byte(key.encoded)) != cached {
			native.release()
		}
	}
}

// enter returns the cached value if it has to be expanded now.
func (c *Keys) enter(key *PublicKey) *PublicKey {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	id := keyID{key.set, key.encoded}
	element, known := c.keys[id]
	if !known {
		if key.valid.CompareAndSwap(0, 1) {
			c.keys[id] = c.order.PushFront(key)
		} else {
			// A key that left does not enter again.
			key.valid.Store(2)
		}
		if c.order.Len() > c.max {
			last := c.order.Remove(c.order.Back()).(*PublicKey)
			delete(c.keys, keyID{last.set, last.encoded})
			last.valid.Store(2)
			last.native.Load().release()
		}
		return nil
	}
	cached := element.Value.(*PublicKey)
	if shared := cached.native.Load(); cached != key {
		if own := key.native.Swap(shared); own != shared {
			own.release()
		}
		key.valid.Store(2)
	}
	if cached.valid.CompareAndSwap(1, 2) {
		return cached
	}
	return nil
}

// wasReleased makes the next valid signature expand a cached key again, whose expansion was released
// through one of the values that share it.
func (c *Keys) wasReleased(key *PublicKey, native *held) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	element, known := c.keys[keyID{key.set, key.encoded}]
	if !known {
		return
	}
	if cached := element.Value.(*PublicKey); cached.native.Load() == native {
		cached.valid.CompareAndSwap(2, 1)
		key.valid.CompareAndSwap(2, 1)
	}
}

// Len returns the number of cached keys.
func (c *Keys) Len() int {
	if c == nil || c.max == 0 {
		return 0
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.order.Len()
}
