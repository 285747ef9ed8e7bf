using Tunnel2.Http1;

namespace Tunnel2.Client.Core.Backend;

/// <summary>What a backend does with its connection after a response may depend on these: each has its own reasons to go wrong.</summary>
internal enum ResponseKind
{
    /// <summary>A body of known length or in chunks.</summary>
    Body = 0,

    /// <summary>A body of no bytes.</summary>
    Empty,

    /// <summary>The answer to HEAD, whose body must not come.</summary>
    Head,

    /// <summary>204, which has no body.</summary>
    NoContent,

    /// <summary>304, which has none either, also when it declares one.</summary>
    NotModified,
}

/// <summary>Finds the kind of a response.</summary>
internal static class ResponseKinds
{
    /// <summary>How many there are.</summary>
    public const int Count = 5;

    /// <summary>The kind of a response that was read.</summary>
    public static ResponseKind Of(ResponseHeadParser response, KnownMethod method) => response switch
    {
        _ when method == KnownMethod.Head => ResponseKind.Head,
        { StatusCode: 204 } => ResponseKind.NoContent,
        { StatusCode: 304 } => ResponseKind.NotModified,
        { BodyKind: BodyKind.None } => ResponseKind.Empty,
        _ => ResponseKind.Body,
    };
}
