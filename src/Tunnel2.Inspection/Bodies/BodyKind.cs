namespace Tunnel2.Inspection.Bodies;

/// <summary>What a body is, for how it is shown.</summary>
internal enum BodyKind
{
    /// <summary>There is none.</summary>
    Empty,

    /// <summary>JSON.</summary>
    Json,

    /// <summary>A form, <c>application/x-www-form-urlencoded</c>.</summary>
    Form,

    /// <summary>A form of several parts.</summary>
    Multipart,

    /// <summary>A picture that a browser shows and that runs no script.</summary>
    Image,

    /// <summary>Text.</summary>
    Text,

    /// <summary>Other bytes.</summary>
    Binary,
}
