namespace Tunnel2.Client.Services;

/// <summary>One thing that is done to install or remove a service. Immutable.</summary>
internal abstract record ServiceStep
{
    /// <summary>Makes a file, or replaces one that is marked as made by this program, in one step.</summary>
    /// <param name="Path">The whole path.</param>
    /// <param name="Text">What it is to have.</param>
    /// <param name="IsSecret">Whether only its owner may read it. Then its text is never shown, and its mark is its folder.</param>
    public sealed record Write(string Path, string Text, bool IsSecret = false) : ServiceStep
    {
        /// <summary>Hides the text.</summary>
        public override string ToString() => $"write {Path}";
    }

    /// <summary>Removes a file, where it is there.</summary>
    /// <param name="Path">The whole path.</param>
    public sealed record Delete(string Path) : ServiceStep
    {
        public override string ToString() => $"delete {Path}";
    }

    /// <summary>Makes a folder that all may enter.</summary>
    /// <param name="Path">The whole path.</param>
    public sealed record Folder(string Path) : ServiceStep
    {
        public override string ToString() => $"make the folder {Path}";
    }

    /// <summary>Runs a program to its end.</summary>
    /// <param name="Words">The program and its arguments.</param>
    /// <param name="MayFail">Whether the next step follows after a failure too.</param>
    public sealed record Run(IReadOnlyList<string> Words, bool MayFail = false) : ServiceStep
    {
        public override string ToString() => string.Join(' ', Words);
    }
}
