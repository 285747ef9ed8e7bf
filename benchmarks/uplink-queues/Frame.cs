namespace Tunnel2.Multiplexing.Streams;

/// <summary>An item of the literal queue: one frame in a rented buffer.</summary>
/// <param name="Bytes">The buffer; null: nothing to send, only a wake-up.</param>
/// <param name="Length">Bytes of the frame.</param>
/// <param name="IsOfStream">Whether it is a stream's, not a control frame.</param>
internal readonly record struct Frame(byte[]? Bytes, int Length, bool IsOfStream);
