package mldsa

import (
	"container/list"
	"sync"
)

// Keys is a bounded cache of public keys by their bytes, for programs that parse the same keys again
// and again: all of them get one value, which is expanded after its second valid signature. The least
// recently used key leaves first. A key that left stays usable.
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
	if key := c.find(set, encoded); key != nil {
		return key, nil
	}
	key, err := ParsePublicKey(set, encoded)
	if err != nil {
		return nil, err
	}
	key.cached = true
	c.mutex.Lock()
	defer c.mutex.Unlock()
	id := keyID{set, key.encoded}
	if element, ok := c.keys[id]; ok {
		return element.Value.(*PublicKey), nil
	}
	c.keys[id] = c.order.PushFront(key)
	if c.order.Len() > c.max {
		last := c.order.Remove(c.order.Back()).(*PublicKey)
		delete(c.keys, keyID{last.set, last.encoded})
	}
	return key, nil
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

// Len returns the number of cached keys.
func (c *Keys) Len() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.order.Len()
}
