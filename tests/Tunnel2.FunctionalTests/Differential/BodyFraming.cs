namespace Tunnel2.FunctionalTests.Differential;

/// <summary>How a service frames the body of an answer in HTTP/1.1. In HTTP/2 only a declared length differs from none.</summary>
internal enum BodyFraming
{
    /// <summary>There is no body.</summary>
    None,

    /// <summary>Its length is declared.</summary>
    Length,

    /// <summary>It is chunked.</summary>
    Chunked,

    /// <summary>It ends with the connection.</summary>
    Close,
}
