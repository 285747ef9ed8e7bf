namespace Tunnel2.Inspection.Messages;

/// <summary>Takes the messages that a reader finds, and accounts for the memory that it needs. Called by one direction at a time.</summary>
internal interface IMessageSink
{
    /// <summary>A whole message.</summary>
    /// <param name="fromVisitor">Whether the visitor sent it.</param>
    /// <param name="kind">What it is.</param>
    /// <param name="kept">Its first bytes; they are copied.</param>
    /// <param name="length">Its true length in bytes, as it passed.</param>
    /// <param name="isCompressed">Whether an extension has compressed what is kept.</param>
    /// <param name="content">The length of the whole that is kept, where it was decompressed as it passed; or null.</param>
    void OnMessage(
        bool fromVisitor, MessageKind kind, ReadOnlySpan<byte> kept, long length, bool isCompressed, long? content = null);

    /// <summary>Asks for memory.</summary>
    bool TryReserve(int bytes);

    /// <summary>Gives memory back.</summary>
    void Free(int bytes);
}
